-- The same at the lengths and depth of the papers: days on a laptop
return study(include "base/length_generalization.lua" "paper")
