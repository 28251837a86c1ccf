package engine

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// MongoDB's error codes for results beyond the limits.
const (
	codeResultTooLarge = mongoerr.Code(17260)
	codeResultTooDeep  = mongoerr.Code(17279)
)

func checkSize(n int) error {
	if n <= limits.InternalDocumentBytes {
		return nil
	}
	return mongoerr.New(codeResultTooLarge,
		"Converting from JavaScript to BSON failed: Object size %d exceeds limit of %d bytes.", n, limits.InternalDocumentBytes)
}

// converter converts JavaScript values from and to BSON. It checks for interrupts of the call.
type converter struct {
	rt    *goja.Runtime
	watch *watch
	// Classes of JavaScript and of the prelude, looked up once.
	classes map[string]*goja.Object
}

// toBSON converts a value to BSON. Numbers become doubles, as in MongoDB.
func (c *converter) toBSON(v goja.Value) (bsonx.Value, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	if err := c.append(b, "v", v, 0); err != nil {
		return bsonx.Missing, err
	}
	b.End()
	return bsonx.Doc(b.Bytes()).Lookup("v"), checkSize(b.Len())
}

func (c *converter) append(b *bsonx.Builder, key string, v goja.Value, depth int) error {
	if depth > limits.ScriptDepth {
		return mongoerr.New(codeResultTooDeep, "Exceeded depth limit of %d when converting js object to BSON. Do you have a cycle?", limits.ScriptDepth)
	}
	if err := checkSize(b.Len()); err != nil {
		return err
	}
	c.watch.step()
	if strings.IndexByte(key, 0) >= 0 {
		return failure("a field name contains a null byte")
	}
	if v == nil || goja.IsUndefined(v) {
		b.Value(key, bsonx.Value{Type: bsonx.TypeUndefined})
		return nil
	}
	if goja.IsNull(v) {
		b.Null(key)
		return nil
	}
	if object, ok := v.(*goja.Object); ok {
		return c.appendObject(b, key, object, depth)
	}
	switch x := v.Export().(type) {
	case bool:
		b.Bool(key, x)
	case string:
		b.String(key, x)
	case int64, float64:
		b.Double(key, v.ToFloat())
	default: // symbols and big integers
		b.String(key, v.String())
	}
	return nil
}

func (c *converter) appendObject(b *bsonx.Builder, key string, object *goja.Object, depth int) error {
	if class := field(object, "_bsontype"); !goja.IsUndefined(class) {
		v, err := c.classToBSON(class.String(), object, depth)
		if err != nil || !v.IsMissing() {
			b.Value(key, v)
			return err
		}
	}
	switch object.ClassName() {
	case "Array":
		b.StartArrayField(key)
		n := field(object, "length").ToInteger()
		for i := range n {
			name := strconv.FormatInt(i, 10)
			if err := c.append(b, name, object.Get(name), depth+1); err != nil {
				return err
			}
		}
		b.End()
		return nil
	case "Date":
		if t, ok := object.Export().(time.Time); ok {
			b.Date(key, t.UnixMilli())
			return nil
		}
		b.Null(key)
		return nil
	case "RegExp":
		b.Value(key, bsonx.Regex(field(object, "source").String(), regexOptions(field(object, "flags").String())))
		return nil
	case "Function":
		b.Value(key, code(object.String()))
		return nil
	case "String":
		return c.append(b, key, object.ToString(), depth+1)
	case "Number", "Boolean":
		// This is safe even if a script has replaced valueOf.
		return c.append(b, key, c.rt.ToValue(object.Export()), depth+1)
	}
	b.StartDocField(key)
	for _, name := range object.Keys() {
		if err := c.append(b, name, object.Get(name), depth+1); err != nil {
			return err
		}
	}
	b.End()
	return nil
}

// field returns a property of an object, or undefined.
func field(object *goja.Object, name string) goja.Value {
	if v := object.Get(name); v != nil {
		return v
	}
	return goja.Undefined()
}

func regexOptions(flags string) string {
	options := ""
	for _, flag := range flags {
		if flag == 'i' || flag == 'm' || flag == 's' {
			options += string(flag)
		}
	}
	return options
}

func code(text string) bsonx.Value {
	v := bsonx.String(text)
	return bsonx.Value{Type: bsonx.TypeCode, Data: v.Data}
}

// classToBSON converts an object of a prelude class. It returns bsonx.Missing if the object must be
// converted like an ordinary object.
func (c *converter) classToBSON(class string, object *goja.Object, depth int) (bsonx.Value, error) {
	switch class {
	case "ObjectId":
		var id [12]byte
		if n, err := hex.Decode(id[:], []byte(field(object, "str").String())); err != nil || n != 12 {
			return bsonx.Missing, failure("invalid ObjectId")
		}
		return bsonx.ObjectID(id), nil
	case "NumberLong":
		i, err := strconv.ParseInt(field(object, "digits").String(), 10, 64)
		if err != nil {
			return bsonx.Missing, failure("invalid NumberLong")
		}
		return bsonx.Int64(i), nil
	case "NumberInt":
		return bsonx.Int32(int32(field(object, "value").ToInteger())), nil
	case "NumberDecimal":
		v, err := bsonx.ParseDecimal(field(object, "digits").String())
		if err != nil {
			return bsonx.Missing, failure("invalid NumberDecimal")
		}
		return v, nil
	case "Timestamp":
		return bsonx.Timestamp(clampUint32(field(object, "t")), clampUint32(field(object, "i"))), nil
	case "BinData":
		data, err := hex.DecodeString(field(object, "bytes").String())
		if err != nil {
			return bsonx.Missing, failure("invalid BinData")
		}
		return bsonx.Binary(byte(field(object, "type").ToInteger()), data), nil
	case "Code":
		return code(field(object, "code").String()), nil
	case "MinKey":
		return bsonx.MinKey, nil
	case "MaxKey":
		return bsonx.MaxKey, nil
	default: // DBRef and DBPointer are documents
		return bsonx.Missing, nil
	}
}

func clampUint32(v goja.Value) uint32 {
	return uint32(min(max(v.ToInteger(), 0), math.MaxUint32))
}
