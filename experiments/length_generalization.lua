-- Four tasks, eleven encodings, five seeds; claims of two papers. About an hour on two cores
return study(include "base/length_generalization.lua" "default")
