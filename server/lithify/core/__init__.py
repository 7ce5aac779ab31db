"""The rules: values and decisions; knows no clock, disk, task, log, editor or model."""
