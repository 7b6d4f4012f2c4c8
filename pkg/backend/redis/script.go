package redis

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	_ "embed"
	"encoding/hex"
)

// The parts of the one script, in their order.
var (
	//go:embed lua/prelude.lua
	preludeLua string
	//go:embed lua/lone.lua
	loneLua string
	//go:embed lua/tat.lua
	tatLua string
	//go:embed lua/fixed.lua
	fixedLua string
	//go:embed lua/counter.lua
	counterLua string
	//go:embed lua/log.lua
	logLua string
	//go:embed lua/decide.lua
	decideLua string
)

//go:embed lua/share.lua
var shareLua string

// script is a Lua script and the name that EVALSHA calls it by.
type script struct{ text, sha string }

func decideScript() script {
	return newScript(preludeLua + loneLua + tatLua + fixedLua + counterLua + logLua + decideLua)
}

func shareScript() script { return newScript(shareLua) }

func newScript(text string) script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // no secret
	return script{text, hex.EncodeToString(sum[:])}
}
