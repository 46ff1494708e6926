// SPDX-License-Identifier: Apache-2.0
#include "pmu.h"

#include <assert.h>
#include <math.h>

static const npu_pipe columns[] = {NPU_PIPE_V,    NPU_PIPE_M,    NPU_PIPE_S,
                                   NPU_PIPE_MTE1, NPU_PIPE_MTE2, NPU_PIPE_MTE3};

static long long cycles(const npu_trace *trace, double ns) {
    return llround(ns * trace->core_hz / 1e9);
}

npu_status npu_pmu_write(FILE *out, const npu_trace *trace, const npu_graph *graph,
                         npu_error *err) {
    fputs("thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles,vec_busy_cycles,"
          "cube_busy_cycles,scalar_busy_cycles,mte1_busy_cycles,mte2_busy_cycles,"
          "mte3_busy_cycles,icache_miss,icache_req,event_type\n",
          out);
    for (int i = 0; i < trace->row_count; i++) {
        const npu_row *row = &trace->rows[i];
        const npu_core_info *core = &trace->cores[row->core];
        int func_id = npu_task_func_id(graph, &graph->tasks[row->task], core->type);
        assert(func_id >= 0 && row->end >= row->start);
        long long total = cycles(trace, row->end - row->start);
        fprintf(out, "%d,%d,0x%016llx,%d,%d,%lld", core->thread, row->core,
                (unsigned long long)npu_trace_task_id(trace, row->task), func_id,
                core->type == NPU_AIV, total);
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            long long busy = cycles(trace, row->busy[columns[c]]);
            fprintf(out, ",%lld", busy < total ? busy : total);
        }
        fputs(",0,0,2\n", out);
    }
    if (ferror(out))
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write a file of the trace");
    return NPU_OK;
}
