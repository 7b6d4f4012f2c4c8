package descriptors

// named notes what a rule is called. It warns of a name used twice, and refuses
// it for adaptive rules, whose limits are set by name.
func (c *compiler) named(r *Rule, l *limitNode) {
	label := r.Label()
	other := c.domain.labels[label]
	c.domain.labels[label] = r
	switch {
	case other == nil:
	case other.Adaptive != nil && r.Adaptive != nil:
		c.reader.errorf(conflict, l.at, r.Path, "two adaptive rules are called %q, the other is in line %d of %s", label, other.Line, other.File)
	default:
		c.reader.warnf(repeatedName, l.at, r.Path, "the rule in line %d of %s is called %q, too; metrics will not tell them apart",
			other.Line, other.File, label)
	}
}

// replaces takes the names of the rules whose place a rule takes.
func (c *compiler) replaces(r *Rule, l *limitNode) {
	for _, n := range l.replaces {
		switch name := n.name.or(""); {
		case n.name != nil && n.name.bad:
		case name == "":
			c.reader.errorf(replacesEmpty, n.at, r.Path, "an item of replaces has no name")
		case name == r.Name:
			c.reader.errorf(replacesSelf, n.name.at, r.Path, "the rule %s replaces itself", name)
		default:
			r.Replaces = append(r.Replaces, name)
			c.domain.replaced = append(c.domain.replaced, mention{c.reader, n.name.at, r.Path, name})
		}
	}
}

// unknownNames warns of names that no rule has, once all files are read.
func (d *domain) unknownNames() {
	for _, m := range d.replaced {
		if !d.names[m.name] {
			m.reader.warnf(unknownName, m.at, m.path, "no rule of domain %s is called %q, so this replaces nothing", d.Name, m.name)
		}
	}
}
