-- What the families share. Every number is an integer below 2^53, which a double
-- holds exactly; tostring and % are not exact, format('%.0f') and fmod are.
--
-- A family decides one ask: f(rule, value, now in us, charged) returns
--   fits   whether the hits fit; nil if the value is none of the family's
--   new    the value to write, '' to delete the key, nil to leave it
--   reset  the us from now in which the value, as it then is, says nothing
-- A rule's op is -2 give back, -1 refund, 0 look, 1 charge, 2 charge even what
-- does not fit. What is given back is a charge, and only what is left of it, found
-- by the instant, window or sub-window that it was recorded in;
-- post is 1 for a post-paid rule, whose charges are carried out whether they fit
-- or not. If charged is false, other charges are not carried out.
local floor, ceil, fmod, min, max = math.floor, math.ceil, math.fmod, math.min, math.max
local format, find, match, gmatch = string.format, string.find, string.match, string.gmatch
local concat, two53 = table.concat, 9007199254740992
