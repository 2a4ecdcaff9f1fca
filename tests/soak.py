"""Whether `make soak` runs the tests. Then tests that try a sample of something try all of it."""

import os

IS_SOAK = "SOAK" in os.environ
