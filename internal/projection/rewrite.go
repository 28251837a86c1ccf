package projection

import (
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// rewrite changes a value of the projected document after the tree was applied. It appends the
// changed document to dst.
type rewrite interface {
	apply(dst []byte, before, projected bsonx.Doc, meta *Meta) ([]byte, error)
}

// slice is find's $slice: it cuts the arrays at a path.
type slice struct {
	parts []string
	skip  int // a negative number counts from the end
	limit int
}

func (s *slice) apply(dst []byte, _, projected bsonx.Doc, _ *Meta) ([]byte, error) {
	return s.document(dst, projected, s.parts), nil
}

func (s *slice) document(dst []byte, doc bsonx.Doc, parts []string) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for it := doc.Iter(); it.Next(); {
		v := it.Value()
		if string(it.Key()) != parts[0] {
			dst = appendField(dst, it.Elem())
			continue
		}
		dst = append(dst, byte(v.Type))
		dst = append(append(dst, it.Key()...), 0)
		dst = s.value(dst, v, parts[1:])
	}
	return endDoc(dst, start)
}

func (s *slice) value(dst []byte, v bsonx.Value, parts []string) []byte {
	switch {
	case len(parts) == 0 && v.Type == bsonx.TypeArray:
		return s.cut(dst, v.Doc())
	case len(parts) == 0:
		return append(dst, v.Data...)
	case v.Type == bsonx.TypeDocument:
		return s.document(dst, v.Doc(), parts)
	case v.Type != bsonx.TypeArray:
		return append(dst, v.Data...)
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	next := 0
	for it := v.Doc().Iter(); it.Next(); next++ {
		elem := it.Value()
		dst = appendElemHead(dst, elem.Type, next)
		if elem.Type == bsonx.TypeDocument {
			dst = s.document(dst, elem.Doc(), parts)
		} else {
			dst = append(dst, elem.Data...)
		}
	}
	return endDoc(dst, start)
}

func (s *slice) cut(dst []byte, array bsonx.Doc) []byte {
	from := s.skip
	if from < 0 {
		from = max(0, from+array.Len())
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	i := 0
	for it := array.Iter(); it.Next(); i++ {
		if i < from {
			continue
		}
		if i-from >= s.limit {
			break
		}
		dst = appendElemHead(dst, it.Value().Type, i-from)
		dst = append(dst, it.Value().Data...)
	}
	return endDoc(dst, start)
}

// positional is the positional operator "path.$": it reduces the first array on the path to the
// element that the query matched.
type positional struct {
	parts []string
	query *filter.Filter
}

func (p *positional) apply(dst []byte, before, projected bsonx.Doc, meta *Meta) ([]byte, error) {
	index := func() (int, error) {
		if meta != nil && meta.HasArrayIndex {
			return meta.ArrayIndex, nil
		}
		var details filter.Details
		matched, err := p.query.MatchDetails(before, &details)
		if err == nil && (!matched || !details.HasIndex) {
			err = mongoerr.New(51246, "positional operator '.$' couldn't find a matching element in the array")
		}
		return details.ArrayIndex, err
	}
	return p.document(dst, projected, p.parts, index)
}

func (p *positional) document(dst []byte, doc bsonx.Doc, parts []string, index func() (int, error)) ([]byte, error) {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for it := doc.Iter(); it.Next(); {
		v := it.Value()
		if string(it.Key()) != parts[0] {
			dst = appendField(dst, it.Elem())
			continue
		}
		dst = append(dst, byte(v.Type))
		dst = append(append(dst, it.Key()...), 0)
		var err error
		switch {
		case v.Type == bsonx.TypeArray:
			dst, err = oneElement(dst, v.Doc(), index)
		case v.Type == bsonx.TypeDocument && len(parts) > 1:
			dst, err = p.document(dst, v.Doc(), parts[1:], index)
		default:
			dst = append(dst, v.Data...)
		}
		if err != nil {
			return dst, err
		}
	}
	return endDoc(dst, start), nil
}

func oneElement(dst []byte, array bsonx.Doc, index func() (int, error)) ([]byte, error) {
	i, err := index()
	if err != nil {
		return dst, err
	}
	v := array.Index(i)
	if v.IsMissing() {
		return dst, mongoerr.New(51247, "positional operator '.$' element mismatch")
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendElemHead(dst, v.Type, 0)
	return endDoc(append(dst, v.Data...), start), nil
}

// appendElemHead appends the type and the key of array element i.
func appendElemHead(dst []byte, t bsonx.Type, i int) []byte {
	dst = append(dst, byte(t))
	return append(strconv.AppendInt(dst, int64(i), 10), 0)
}
