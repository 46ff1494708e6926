# SPDX-License-Identifier: Apache-2.0
# Through the shared library, as a program of a user would.
npu_test(test_api USES npusim_shared)
npu_test(test_api_convert USES npusim_shared)
npu_test(test_api_replay USES npusim_shared PkgConfig::JANSSON)
npu_test(test_api_files USES npusim_shared PkgConfig::JANSSON)
npu_test(test_api_explain USES npusim_shared PkgConfig::JANSSON)
