-- The same in a few minutes: two tasks, five encodings, three seeds
return study(include "base/length_generalization.lua" "quick")
