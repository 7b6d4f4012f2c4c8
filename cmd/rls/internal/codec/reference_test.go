package codec_test

import (
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// reference is the standard library's decoder of RateLimitRequest with every
// string field declared as bytes: same wire form, no check for UTF-8.
type reference struct {
	request protoreflect.MessageDescriptor
}

func newReference(tb testing.TB) reference {
	tb.Helper()
	root := (*rlspb.RateLimitRequest)(nil).ProtoReflect().Descriptor()
	var set descriptorpb.FileDescriptorSet
	addFile(&set, map[string]bool{}, root.ParentFile())
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		tb.Fatal(err)
	}
	found, err := files.FindDescriptorByName(root.FullName())
	if err != nil {
		tb.Fatal(err)
	}
	request, ok := found.(protoreflect.MessageDescriptor)
	if !ok {
		tb.Fatalf("%s is %T, want a message", root.FullName(), found)
	}
	return reference{request}
}

func addFile(set *descriptorpb.FileDescriptorSet, seen map[string]bool, file protoreflect.FileDescriptor) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	for i := range file.Imports().Len() {
		addFile(set, seen, file.Imports().Get(i).FileDescriptor)
	}
	fd := protodesc.ToFileDescriptorProto(file)
	switch file.Path() {
	case "envoy/service/ratelimit/v3/rls.proto", "envoy/extensions/common/ratelimit/v3/ratelimit.proto":
		stringsToBytes(fd.GetMessageType())
	}
	set.File = append(set.File, fd)
}

func stringsToBytes(messages []*descriptorpb.DescriptorProto) {
	for _, m := range messages {
		for _, f := range m.GetField() {
			if f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_STRING {
				f.Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
			}
		}
		stringsToBytes(m.GetNestedType())
	}
}

func (r reference) decode(wire []byte) (codec.Request, error) {
	m := dynamicpb.NewMessage(r.request)
	err := proto.Unmarshal(wire, m)
	return requestOf(m), err
}

// requestOf turns a standard message, generated or the reference's, into ours.
func requestOf(m protoreflect.Message) codec.Request {
	q := codec.Request{Domain: text(m, "domain"), HitsAddend: uint32(uintOf(m, "hits_addend"))}
	list := value(m, "descriptors").List()
	for i := range list.Len() {
		q.Descriptors = append(q.Descriptors, descriptorOf(list.Get(i).Message()))
	}
	return q
}

func descriptorOf(m protoreflect.Message) codec.Descriptor {
	d := codec.Descriptor{Negative: value(m, "is_negative_hits").Bool()}
	list := value(m, "entries").List()
	for i := range list.Len() {
		e := list.Get(i).Message()
		d.Entries = append(d.Entries, codec.Entry{Key: text(e, "key"), Value: text(e, "value")})
	}
	d.HitsAddend, d.HasHitsAddend = wrapped(m, "hits_addend")
	d.HasLimit = has(m, "limit")
	if d.HasLimit {
		limit := value(m, "limit").Message()
		d.Limit.RequestsPerUnit = uint32(uintOf(limit, "requests_per_unit"))
		d.Limit.Unit = int32(value(limit, "unit").Enum())
		multiplier, present := wrapped(limit, "unit_multiplier")
		d.Limit.UnitMultiplier, d.Limit.HasUnitMultiplier = uint32(multiplier), present
	}
	return d
}

func wrapped(m protoreflect.Message, name protoreflect.Name) (uint64, bool) {
	return uintOf(value(m, name).Message(), "value"), has(m, name)
}

func text(m protoreflect.Message, name protoreflect.Name) string {
	v := value(m, name)
	if b, ok := v.Interface().([]byte); ok {
		return string(b)
	}
	return v.String()
}

func uintOf(m protoreflect.Message, name protoreflect.Name) uint64 { return value(m, name).Uint() }

func has(m protoreflect.Message, name protoreflect.Name) bool {
	return m.Has(m.Descriptor().Fields().ByName(name))
}

func value(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}
