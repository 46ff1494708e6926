# SPDX-License-Identifier: Apache-2.0
npu_test(test_kernels_program USES npu_kernels)
npu_test(test_kernels_region USES npu_kernels)
npu_test(test_kernels_errors USES npu_kernels)
npu_test(test_kernels_library USES npu_kernels)
