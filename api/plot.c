// SPDX-License-Identifier: Apache-2.0
#include "plot.h"

#include "npusim.h"
#include "out.h"
#include "picture.h"

npu_status npusim_plot(const char *folder, npu_error *err) {
    npu_picture picture = {0};
    npu_out *out = NULL;
    npu_status status = npu_picture_read(folder, &picture, err);
    if (!status)
        status = npu_out_begin(folder, &out, err);
    const char *png = status ? NULL : npu_out_path(out, "swimlane.png", err);
    if (!status)
        status = png == NULL ? NPU_IO : npu_plot_png(&picture, png, err);
    if (status)
        npu_out_discard(out);
    else
        status = npu_out_commit(out, err);
    npu_picture_free(&picture);
    return status;
}
