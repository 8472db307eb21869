# Rates of schedules against an oracle of exact fractions. spec: OPT-8
# inputs: build/tests/drivers/cli/lr_schedule_driver tests/ref/engine/lr_schedule.py
# inputs: ref/engine/lr_schedule.c
python3 tests/ref/engine/lr_schedule.py build/tests/drivers/cli/lr_schedule_driver \
  ref/engine/lr_schedule.c
