package redis

import (
	"bytes"
	"slices"

	"github.com/eb50146d/rls/pkg/backend"
)

// slotCount is how many slots a cluster has.
const slotCount = 16384

// slotOf is the slot of a key of ours, whose empty hash tag makes all of it count:
// CRC16 with the polynomial 0x1021.
func slotOf(key []byte) uint16 {
	var crc uint16
	for _, b := range key {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % slotCount
}

// number numbers the asks with a key by their keys, from 0, and says how many keys
// there are. Others have the part keyless.
func (rd *round) number(req *backend.Request, answers []backend.Answer) (parts int) {
	rd.order, rd.parts = rd.order[:0], rd.parts[:0]
	for i := range req.Asks {
		rd.parts = append(rd.parts, keyless)
		if answers[i].Source == 0 {
			rd.order = append(rd.order, i)
		}
	}
	if len(rd.order) > 1 {
		slices.SortStableFunc(rd.order, func(i, j int) int { return bytes.Compare(req.Asks[i].Key, req.Asks[j].Key) })
	}
	for k, i := range rd.order {
		if k == 0 || !bytes.Equal(req.Asks[i].Key, req.Asks[rd.order[k-1]].Key) {
			parts++
		}
		rd.parts[i] = parts - 1
	}
	return parts
}
