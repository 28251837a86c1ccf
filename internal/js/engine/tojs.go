package engine

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// toJS converts a BSON value to JavaScript. Documents become ordinary objects. Strings, doubles,
// int32, bools, null, dates and regular expressions become JavaScript values of the same kind.
// Other types become objects of prelude classes.
func (c *converter) toJS(v bsonx.Value) goja.Value {
	switch v.Type {
	case bsonx.TypeMissing, bsonx.TypeUndefined:
		return goja.Undefined()
	case bsonx.TypeNull:
		return goja.Null()
	case bsonx.TypeDouble:
		return c.rt.ToValue(v.Double())
	case bsonx.TypeInt32:
		return c.rt.ToValue(v.Int32())
	case bsonx.TypeString, bsonx.TypeSymbol:
		return c.rt.ToValue(v.Str())
	case bsonx.TypeBool:
		return c.rt.ToValue(v.Bool())
	case bsonx.TypeDocument:
		return c.objectToJS(v.Doc())
	case bsonx.TypeArray:
		return c.arrayToJS(v.Doc())
	case bsonx.TypeDate:
		return c.construct("Date", v.Int64())
	case bsonx.TypeRegex:
		return c.regexToJS(v)
	default:
		return c.classToJS(v)
	}
}

func (c *converter) objectToJS(doc bsonx.Doc) goja.Value {
	object := c.rt.NewObject()
	for it := doc.Iter(); it.Next(); {
		c.watch.step()
		// A property is defined, not set, so that __proto__ becomes an ordinary field.
		if err := object.DefineDataProperty(string(it.Key()), c.toJS(it.Value()), goja.FLAG_TRUE,
			goja.FLAG_TRUE, goja.FLAG_TRUE); err != nil {
			panic(c.rt.NewGoError(err))
		}
	}
	return object
}

func (c *converter) arrayToJS(doc bsonx.Doc) goja.Value {
	var values []any
	for it := doc.Iter(); it.Next(); {
		c.watch.step()
		values = append(values, c.toJS(it.Value()))
	}
	return c.rt.NewArray(values...)
}

// regexToJS converts a regular expression. It drops options that JavaScript does not have.
func (c *converter) regexToJS(v bsonx.Value) goja.Value {
	pattern, options := v.Regex()
	flags := ""
	for _, flag := range options {
		if flag == 'i' || flag == 'm' || flag == 's' {
			flags += string(flag)
		}
	}
	return c.construct("RegExp", pattern, flags)
}

func (c *converter) classToJS(v bsonx.Value) goja.Value {
	switch v.Type {
	case bsonx.TypeInt64:
		return c.construct("NumberLong", strconv.FormatInt(v.Int64(), 10))
	case bsonx.TypeDecimal128:
		return c.construct("NumberDecimal", bsonx.FormatDecimal(v))
	case bsonx.TypeObjectID:
		return c.construct("ObjectId", hex.EncodeToString(v.Data))
	case bsonx.TypeTimestamp:
		t, i := v.Timestamp()
		return c.construct("Timestamp", t, i)
	case bsonx.TypeBinary:
		subtype, data := v.Binary()
		return c.construct("BinData", subtype, base64.StdEncoding.EncodeToString(data))
	case bsonx.TypeCode:
		return c.construct("Code", v.Str())
	case bsonx.TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		return c.construct("Code", code, c.objectToJS(scope))
	case bsonx.TypeDBPointer:
		n := len(v.Data) - 12
		return c.construct("DBPointer", string(v.Data[4:n-1]), c.construct("ObjectId", hex.EncodeToString(v.Data[n:])))
	case bsonx.TypeMinKey:
		return c.construct("MinKey")
	default:
		return c.construct("MaxKey")
	}
}

// construct creates an object of a global class. The first call for a class looks it up. Later
// calls use the same class, even if a script has replaced the global variable.
func (c *converter) construct(class string, args ...any) goja.Value {
	constructor := c.classes[class]
	if constructor == nil {
		constructor = c.rt.GlobalObject().Get(class).ToObject(c.rt)
		c.classes[class] = constructor
	}
	values := make([]goja.Value, len(args))
	for i, arg := range args {
		values[i] = c.rt.ToValue(arg)
	}
	object, err := c.rt.New(constructor, values...)
	if err != nil {
		panic(err)
	}
	return object
}
