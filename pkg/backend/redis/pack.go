package redis

import "encoding/binary"

// packer appends MessagePack, which Redis' Lua reads without a parser of ours.
type packer []byte

func (p *packer) list(n int) {
	switch {
	case n < 16:
		*p = append(*p, 0x90|byte(n)) //nolint:gosec // compared above
	case n < 1<<16:
		*p = binary.BigEndian.AppendUint16(append(*p, 0xdc), uint16(n))
	default:
		*p = binary.BigEndian.AppendUint32(append(*p, 0xdd), uint32(n)) //nolint:gosec // asks of a call
	}
}

func (p *packer) int(n int64) {
	switch {
	case n >= 0 && n < 1<<7:
		*p = append(*p, byte(n))
	case n >= 0 && n < 1<<16:
		*p = binary.BigEndian.AppendUint16(append(*p, 0xcd), uint16(n))
	default:
		*p = binary.BigEndian.AppendUint64(append(*p, 0xd3), uint64(n)) //nolint:gosec // two's complement
	}
}

func (p *packer) ints(all ...int64) {
	p.list(len(all))
	for _, n := range all {
		p.int(n)
	}
}
