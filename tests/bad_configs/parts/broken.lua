local width = 64
return { width = width / }
