# SPDX-License-Identifier: Apache-2.0
npu_test(test_replay USES npu_replay)
