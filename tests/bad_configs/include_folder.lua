-- expect: tests/bad_configs/include_folder.lua:2: include ".": is a folder
return include "."
