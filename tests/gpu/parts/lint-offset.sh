# SPDX-License-Identifier: Apache-2.0
# The admission programs of production-1 under regime offset.
exec bash "$(dirname "$0")/../lint_suite.sh" offset
