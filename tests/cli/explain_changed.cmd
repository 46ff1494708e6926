explain cli/runs/changed
