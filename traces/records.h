// SPDX-License-Identifier: Apache-2.0
// chip_swimlane_records.json of all three generations, as the runtime writes it and wrote it
// (docs/traces.md). Which one a file is shows in its shape.
#ifndef NPU_RECORDS_H
#define NPU_RECORDS_H

#include "capture.h"
#include "json.h"

// Reads a file and joins its rows. *capture is to be freed in any case. NPU_IO when it cannot be
// read; NPU_BAD_INPUT with file:line:col when it is no such file. What a sound run would not
// have written (npu_sanity) is no failure.
npu_status npu_records_read(const char *path, npu_capture *capture, npu_error *err);
// The same from JSON that has been opened with `err`.
npu_status npu_records_read_json(npu_json *json, const char *path, npu_capture *capture,
                                 npu_error *err);

// Writes a capture as generation G1, G2 or G3; reading that again gives the same capture. What a
// generation has no place for stands in its metadata: the run's epoch and who wrote each
// scheduler's records. NPU_BAD_INPUT for several epochs before G3.
npu_status npu_records_write(FILE *out, const npu_capture *capture, npu_generation generation,
                             npu_error *err);

#endif
