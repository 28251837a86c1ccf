package js

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// toJS converts a value. Documents become ordinary objects; strings, numbers, bools, null and dates become what the
// language has; the rest become objects of the prelude's classes.
func (e *engine) toJS(v bsonx.Value) goja.Value {
	switch v.Type {
	case bsonx.TypeMissing, bsonx.TypeUndefined:
		return goja.Undefined()
	case bsonx.TypeNull:
		return goja.Null()
	case bsonx.TypeDouble:
		return e.rt.ToValue(v.Double())
	case bsonx.TypeInt32:
		return e.rt.ToValue(v.Int32())
	case bsonx.TypeString, bsonx.TypeSymbol:
		return e.rt.ToValue(v.Str())
	case bsonx.TypeBool:
		return e.rt.ToValue(v.Bool())
	case bsonx.TypeDocument:
		return e.objectToJS(v.Doc())
	case bsonx.TypeArray:
		return e.arrayToJS(v.Doc())
	case bsonx.TypeDate:
		return e.construct("Date", v.Int64())
	case bsonx.TypeRegex:
		return e.regexToJS(v)
	default:
		return e.classToJS(v)
	}
}

func (e *engine) objectToJS(doc bsonx.Doc) goja.Value {
	object := e.rt.NewObject()
	for it := doc.Iter(); it.Next(); {
		e.step()
		// A property is defined, not set, so that a field called __proto__ is a field.
		if err := object.DefineDataProperty(string(it.Key()), e.toJS(it.Value()), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE); err != nil {
			panic(e.rt.NewGoError(err))
		}
	}
	return object
}

func (e *engine) arrayToJS(doc bsonx.Doc) goja.Value {
	var values []any
	for it := doc.Iter(); it.Next(); {
		e.step()
		values = append(values, e.toJS(it.Value()))
	}
	return e.rt.NewArray(values...)
}

// regexToJS drops the options that JavaScript does not have.
func (e *engine) regexToJS(v bsonx.Value) goja.Value {
	pattern, options := v.Regex()
	flags := ""
	for _, flag := range options {
		if flag == 'i' || flag == 'm' || flag == 's' {
			flags += string(flag)
		}
	}
	return e.construct("RegExp", pattern, flags)
}

func (e *engine) classToJS(v bsonx.Value) goja.Value {
	switch v.Type {
	case bsonx.TypeInt64:
		return e.construct("NumberLong", strconv.FormatInt(v.Int64(), 10))
	case bsonx.TypeDecimal128:
		return e.construct("NumberDecimal", bsonx.FormatDecimal(v))
	case bsonx.TypeObjectID:
		return e.construct("ObjectId", hex.EncodeToString(v.Data))
	case bsonx.TypeTimestamp:
		t, i := v.Timestamp()
		return e.construct("Timestamp", t, i)
	case bsonx.TypeBinary:
		subtype, data := v.Binary()
		return e.construct("BinData", subtype, base64.StdEncoding.EncodeToString(data))
	case bsonx.TypeCode:
		return e.construct("Code", v.Str())
	case bsonx.TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		return e.construct("Code", code, e.objectToJS(scope))
	case bsonx.TypeDBPointer:
		n := len(v.Data) - 12
		return e.construct("DBPointer", string(v.Data[4:n-1]), e.construct("ObjectId", hex.EncodeToString(v.Data[n:])))
	case bsonx.TypeMinKey:
		return e.construct("MinKey")
	default:
		return e.construct("MaxKey")
	}
}

// construct makes an object of a global class. It is looked up before user code could have replaced it.
func (e *engine) construct(class string, args ...any) goja.Value {
	constructor := e.classes[class]
	if constructor == nil {
		constructor = e.rt.GlobalObject().Get(class).ToObject(e.rt)
		e.classes[class] = constructor
	}
	values := make([]goja.Value, len(args))
	for i, arg := range args {
		values[i] = e.rt.ToValue(arg)
	}
	object, err := e.rt.New(constructor, values...)
	if err != nil {
		panic(err)
	}
	return object
}
