package redis

// plan is what one call of the script is given. It is used again for the next.
type plan struct {
	slack  int64 // ms that a key outlives what it says
	args   []any
	rules  packer
	known  map[priced]int64 // places in rules, from 1
	items  packer
	groups packer
	packed packer

	itemCount, groupCount int
}

// argsBefore are those before the keys: EVALSHA, the script's name, how many keys.
const argsBefore = 3

func newPlan(slack int64) *plan {
	return &plan{slack: slack, known: map[priced]int64{}, args: make([]any, argsBefore)}
}

func (p *plan) reset() {
	clear(p.args)
	clear(p.known)
	p.args, p.rules, p.items, p.groups, p.packed = p.args[:argsBefore], p.rules[:0], p.items[:0], p.groups[:0], p.packed[:0]
	p.itemCount, p.groupCount = 0, 0
}

func (p *plan) add(c *call) {
	if c.grouped && len(c.items) > 0 {
		p.addGroup(c)
	}
	for i := range c.items {
		it := &c.items[i]
		place, ok := p.known[it.priced]
		if !ok {
			place = int64(len(p.known)) + 1
			p.known[it.priced] = place
			it.pack(&p.rules)
		}
		p.items.int(place)
		p.args = append(p.args, it)
	}
	p.itemCount += len(c.items)
}

func (p *plan) addGroup(c *call) {
	g, first := &c.group, int64(p.itemCount)+1
	const fields = 9
	p.groups.list(fields)
	for _, n := range [...]int64{
		first, first + int64(len(c.items)) - 1, g.mode, int64(g.over), int64(g.quotas), int64(g.quotasOver),
	} {
		p.groups.int(n)
	}
	p.groups.ints(g.modes...)
	p.groups.ints(g.owners...)
	p.groups.list(len(c.items))
	for i := range c.items {
		p.groups.int(int64(c.items[i].prev) + 1)
	}
	p.groupCount++
}

// command is the client's command for a decision at now, in µs; 0 is Redis' TIME.
func (p *plan) command(sha string, now int64) []any {
	const fields = 5
	p.packed.list(fields)
	p.packed.int(now)
	p.packed.int(p.slack)
	p.packed.list(len(p.known))
	p.packed = append(p.packed, p.rules...)
	p.packed.list(p.itemCount)
	p.packed = append(p.packed, p.items...)
	p.packed.list(p.groupCount)
	p.packed = append(p.packed, p.groups...)
	p.args[0], p.args[1], p.args[2] = "evalsha", sha, p.itemCount
	p.args = append(p.args, []byte(p.packed))
	return p.args
}
