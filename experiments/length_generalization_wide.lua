-- The same with a wider, less deep model and more tokens a step
return study(include "base/length_generalization.lua" "wide")
