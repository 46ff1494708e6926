// SPDX-License-Identifier: Apache-2.0
// Names and the heads of loops, as graphs and kernels both write them.
#ifndef NPU_NAME_H
#define NPU_NAME_H

#include <stdbool.h>

// The length of the name at `text` (letters, digits and _; no digit first); 0: there is none.
int npu_name_length(const char *text);
// Is the whole text a name?
bool npu_is_name(const char *text);

typedef struct npu_loop_text { // "g in a..b"
    int name_length;           // of g, at the start of the text
    const char *first;         // a
    int first_length;
    const char *end; // b
} npu_loop_text;

// False when the text is no head of a loop. The parts are without blanks around them.
bool npu_loop_split(const char *text, npu_loop_text *loop);

#endif
