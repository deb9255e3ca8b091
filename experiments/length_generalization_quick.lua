-- The same in less than ten minutes on two cores: two tasks, five encodings, three seeds
return study(include "base/length_generalization.lua" "quick")
