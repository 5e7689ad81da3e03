// List is a JSON array. A nil list is encoded as [], where a slice would be null.
type List[T any] []T

// MarshalJSON encodes the list, also a nil one, as an array.
func (it List[T]) MarshalJSON() ([]byte, error) {
	if it == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(it))
}

// Map is a JSON object with free keys. A nil map is encoded as {}, where a plain map would be null.
type Map[V any] map[string]V

// MarshalJSON encodes the map, also a nil one, as an object.
func (it Map[V]) MarshalJSON() ([]byte, error) {
	if it == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]V(it))
}

// Unknown is a variant that this version of the protocol does not know, of any union with a tag: its JSON, as it came.
type Unknown struct {
	Raw json.RawMessage
}

// MarshalJSON encodes what came.
func (it *Unknown) MarshalJSON() ([]byte, error) {
	return it.Raw, nil
}

// read takes an object whose tag is a text that is not known.
func (it *Unknown) read(members *members, tag string, data []byte) error {
	if value := members.values[tag]; len(value) == 0 || value[0] != '"' {
		return members.unknown(tag)
	}
	it.Raw = bytes.Clone(data)
	return nil
}

// UnknownVariant is the error of a union that no tag tells a variant of.
type UnknownVariant struct {
	Union string          // name of the union
	Tag   string          // member that tells the variants apart
	Value json.RawMessage // its value; nil if the object has no such member
}

// Error names the union, the member and the value that came.
func (it *UnknownVariant) Error() string {
	if it.Value == nil {
		return fmt.Sprintf("%s: expected a member %q, and there is none", it.Union, it.Tag)
	}
	return fmt.Sprintf("%s.%s: %s is none of its variants", it.Union, it.Tag, it.Value)
}

// members are the members of an object that is being decoded, and the first error. Names are compared exactly, which
// encoding/json does not do for the fields of a struct.
type members struct {
	owner  string // type that the object is decoded as
	values map[string]json.RawMessage
	err    error
}

// readMembers reads the members of an object.
func readMembers(owner string, data []byte) *members {
	it := &members{owner: owner}
	if err := json.Unmarshal(data, &it.values); err != nil || it.values == nil {
		it.err = fmt.Errorf("%s: expected an object, got %.40s", owner, data)
	}
	return it
}

// tag returns the JSON of the member that tells the variants of a union apart.
func (it *members) tag(name string) string {
	return canonical(it.values[name])
}

// unknown is the error of a tag without a variant.
func (it *members) unknown(tag string) error {
	return &UnknownVariant{it.owner, tag, it.values[tag]}
}

// required decodes a member that must be there, and is not null.
func required[T any](it *members, name string, into *T) {
	if value, found := it.values[name]; found && string(value) != "null" {
		decodeMember(it, name, into)
	} else if it.err == nil && !found {
		it.err = fmt.Errorf("%s.%s: expected a value, and the member is absent", it.owner, name)
	} else if it.err == nil {
		it.err = fmt.Errorf("%s.%s: expected a value, got null", it.owner, name)
	}
}

// nullable decodes a member that must be there, and may be null.
func nullable[T any](it *members, name string, into *T) {
	if _, found := it.values[name]; found {
		decodeMember(it, name, into)
	} else if it.err == nil {
		it.err = fmt.Errorf("%s.%s: expected a value or null, and the member is absent", it.owner, name)
	}
}

// optional decodes a member that may be absent.
func optional[T any](it *members, name string, into *T) {
	if _, found := it.values[name]; found {
		decodeMember(it, name, into)
	}
}

// decodeMember decodes a member, and takes it out.
func decodeMember[T any](it *members, name string, into *T) {
	value := it.values[name]
	delete(it.values, name)
	if err := json.Unmarshal(value, into); err != nil && it.err == nil {
		it.err = fmt.Errorf("%s.%s: %w", it.owner, name, err)
	}
}

// canonical is the JSON of a text or a constant without escapes that it does not need.
func canonical(data []byte) string {
	var text string
	if bytes.IndexByte(data, '\\') < 0 || json.Unmarshal(data, &text) != nil {
		return string(data)
	}
	plain, _ := json.Marshal(text)
	return string(plain)
}

// decodeAs decodes a variant of a union.
func decodeAs[T any](data []byte) (*T, error) {
	it := new(T)
	return it, json.Unmarshal(data, it)
}

// encodeVariant encodes the value of a union.
func encodeVariant(union string, value any) ([]byte, error) {
	if value == nil {
		return nil, fmt.Errorf("%s: expected a Value, got nil", union)
	}
	return json.Marshal(value)
}

// expectConstant reports whether a member has the only value that it may have.
func expectConstant(data []byte, expected string) error {
	if canonical(data) != expected {
		return fmt.Errorf("expected %s, got %.40s", expected, data)
	}
	return nil
}

// withExtra adds members to an encoded object.
func withExtra(encoded []byte, extra map[string]json.RawMessage) ([]byte, error) {
	if len(extra) == 0 {
		return encoded, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &members); err != nil {
		return nil, err
	}
	for name, value := range extra {
		if _, known := members[name]; !known {
			members[name] = value
		}
	}
	return json.Marshal(members)
}
