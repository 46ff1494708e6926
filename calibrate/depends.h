// SPDX-License-Identifier: Apache-2.0
// Which numbers of a die a graph cannot feel.
#ifndef NPU_DEPENDS_H
#define NPU_DEPENDS_H

#include <stdbool.h>

#include "graph.h"

// False only where nothing that runs could read the field: the pipes and the port of a type of
// core that runs no block of the graph, and the dispatcher that the graph is not given to. True
// for all others.
bool npu_graph_may_read(const npu_graph *graph, int field);

#endif
