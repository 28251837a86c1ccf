package keystring

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var (
	errShort = errors.New("keystring: key ends within a value")
	errType  = errors.New("keystring: unknown type byte")
	errDepth = errors.New("keystring: nesting is too deep")
	errValue = errors.New("keystring: malformed value")
)

// Skip returns the length of the first encoded value of key.
func Skip(key []byte, desc bool) (int, error) {
	s := scanner{b: key}
	if desc {
		s.mask = 0xFF
	}
	if err := s.value(0); err != nil {
		return 0, err
	}
	return s.pos, nil
}

// scanner walks over a key. It applies xor with mask to each byte that it reads.
type scanner struct {
	b    []byte
	pos  int
	mask byte
}

func (s *scanner) byte() (byte, error) {
	if s.pos >= len(s.b) {
		return 0, errShort
	}
	c := s.b[s.pos] ^ s.mask
	s.pos++
	return c, nil
}

func (s *scanner) skip(n int) error {
	if n < 0 || len(s.b)-s.pos < n {
		return errShort
	}
	s.pos += n
	return nil
}

// terminated returns the raw bytes before the next terminator and moves past it.
func (s *scanner) terminated() ([]byte, error) {
	rest := s.b[s.pos:]
	i := bytes.IndexByte(rest, s.mask)
	if i < 0 {
		return nil, errShort
	}
	s.pos += i + 1
	return rest[:i], nil
}

func (s *scanner) length() (int, error) {
	c, err := s.byte()
	if err != nil || c < 0xFF {
		return int(c), err
	}
	from := s.pos
	if err := s.skip(4); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(s.b[from:])
	if s.mask != 0 {
		n = ^n
	}
	if int64(n) > int64(len(s.b)) {
		return 0, errShort
	}
	return int(n), nil
}

func (s *scanner) value(depth int) error {
	t, err := s.byte()
	if err != nil {
		return err
	}
	return s.payload(t, depth)
}

func (s *scanner) payload(t byte, depth int) error {
	switch t {
	case typeMinKey, typeUndefined, typeNull, typeNaN, typeZero, typeFalse, typeTrue, typeMaxKey:
		return nil
	case typeString, typeCode:
		_, err := s.terminated()
		return err
	case typeObjectID:
		return s.skip(12)
	case typeDate, typeTimestamp:
		return s.skip(8)
	case typeObject:
		return s.object(depth)
	case typeArray:
		return s.array(depth)
	case typeBinary, typeDBPointer:
		n, err := s.length()
		if err != nil {
			return err
		}
		if t == typeBinary {
			n++
		}
		return s.skip(n)
	case typeRegex:
		if _, err := s.terminated(); err != nil {
			return err
		}
		_, err := s.terminated()
		return err
	case typeCodeScope:
		if _, err := s.terminated(); err != nil {
			return err
		}
		return s.object(depth)
	default:
		if t < typeNegLarge || t > typePosLarge {
			return errType
		}
		return s.number(t)
	}
}

func (s *scanner) array(depth int) error {
	if depth >= maxDepth {
		return errDepth
	}
	for {
		t, err := s.byte()
		if err != nil || t == 0 {
			return err
		}
		if err := s.payload(t, depth+1); err != nil {
			return err
		}
	}
}

func (s *scanner) object(depth int) error {
	if depth >= maxDepth {
		return errDepth
	}
	for {
		t, err := s.byte()
		if err != nil || t == 0 {
			return err
		}
		if _, err = s.terminated(); err != nil {
			return err
		}
		if t == classNumber || t == classBool {
			err = s.value(depth + 1)
		} else {
			err = s.payload(t, depth+1)
		}
		if err != nil {
			return err
		}
	}
}

// number skips the payload of a number that is neither zero nor NaN.
func (s *scanner) number(t byte) error {
	saved := s.mask
	if t < typeZero {
		s.mask = ^s.mask
		t = 2*typeZero - t
	}
	err := s.magnitude(t)
	s.mask = saved
	return err
}

func (s *scanner) magnitude(t byte) error {
	whole := t != typePosSmall && t != typePosLarge
	if whole {
		if err := s.skip(int(t - typePosWhole)); err != nil {
			return err
		}
		if (s.b[s.pos-1]^s.mask)&1 == 0 {
			return nil
		}
	}
	for range groups {
		c, err := s.byte()
		if err != nil || c&1 == 0 {
			return err
		}
	}
	if !whole {
		if err := s.skip(2); err != nil {
			return err
		}
	}
	_, err := s.terminated()
	return err
}
