"""A module that takes its time, as lxml and its friends do."""

import time

time.sleep(2.2)
