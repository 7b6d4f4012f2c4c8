package service

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// redactor writes descriptors to the log. A value may be a token or an address,
// so it is written as a hash whose key ends with the process: equal values look
// alike in one log, and none can be found out from it.
type redactor struct {
	key   []byte
	plain bool // values are written as they are
}

func newRedactor(plain bool) redactor { return redactor{[]byte(rand.Text()), plain} }

// descriptors is a log field: an object for each descriptor.
func (r *redactor) descriptors(all []codec.Descriptor) zap.Field {
	return zap.Array("descriptors", zapcore.ArrayMarshalerFunc(func(to zapcore.ArrayEncoder) error {
		for i := range all {
			if err := to.AppendObject(r.descriptor(&all[i])); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (r *redactor) descriptor(d *codec.Descriptor) zapcore.ObjectMarshaler {
	return zapcore.ObjectMarshalerFunc(func(to zapcore.ObjectEncoder) error {
		if d.HasHitsAddend {
			to.AddUint64("hits_addend", d.HitsAddend)
			to.AddBool("is_negative_hits", d.Negative)
		}
		if d.HasLimit {
			to.AddUint32("limit", d.Limit.RequestsPerUnit)
		}
		return to.AddArray("entries", zapcore.ArrayMarshalerFunc(func(to zapcore.ArrayEncoder) error {
			for _, e := range d.Entries {
				to.AppendString(e.Key + "=" + r.value(e.Value))
			}
			return nil
		}))
	})
}

func (r *redactor) value(text string) string {
	if r.plain {
		return text
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(text))
	return "#" + hex.EncodeToString(mac.Sum(nil)[:4])
}
