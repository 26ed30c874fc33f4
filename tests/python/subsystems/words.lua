-- Which word follows which how often at most, summed up: strings and tables that die file by file.
local rounds = tonumber(arg[1])
local kept = 0
for round = 1, rounds do
  for i = 2, #arg do
    local followers = {}
    local before = ""
    for line in io.lines(arg[i]) do
      for word in line:gmatch("%a+") do
        local key = word:lower()
        local own = followers[before]
        if not own then own = {}; followers[before] = own end
        own[key] = (own[key] or 0) + 1
        before = key
      end
    end
    for _, own in pairs(followers) do
      local most = 0
      for _, times in pairs(own) do if times > most then most = times end end
      kept = kept + most
    end
  end
end
print(kept)
