package convert

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func toBoolDefinition() expr.Definition {
	return conversionTo("$toBool", converter{to: bsonx.TypeBool})
}

func toDateDefinition() expr.Definition {
	return conversionTo("$toDate", converter{to: bsonx.TypeDate})
}

func toDecimalDefinition() expr.Definition {
	return conversionTo("$toDecimal", converter{to: bsonx.TypeDecimal128})
}

func toDoubleDefinition() expr.Definition {
	return conversionTo("$toDouble", converter{to: bsonx.TypeDouble})
}

func toIntDefinition() expr.Definition { return conversionTo("$toInt", converter{to: bsonx.TypeInt32}) }

func toLongDefinition() expr.Definition {
	return conversionTo("$toLong", converter{to: bsonx.TypeInt64})
}

func toObjectIdDefinition() expr.Definition {
	return conversionTo("$toObjectId", converter{to: bsonx.TypeObjectID})
}

func toStringDefinition() expr.Definition {
	return conversionTo("$toString", converter{to: bsonx.TypeString, format: formatAuto})
}

func toUUIDDefinition() expr.Definition {
	return conversionTo("$toUUID", converter{to: bsonx.TypeBinary, subtype: uuidSubtype, format: formatUUID})
}

// conversionTo defines a short form of $convert, such as $toInt.
func conversionTo(name string, how converter) expr.Definition {
	return expr.Definition{
		Name: name, Family: family, Parse: parseTo(how), Form: conversionForm(how),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseTo(how converter) expr.ParseFunc {
	return func(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
		args, err := p.Operands(arg, vars)
		if err != nil {
			return nil, err
		}
		if len(args) != 1 {
			return nil, mongoerr.New(50723, "%s requires a single argument, got %d", def.Name, len(args))
		}
		return &convertTo{args[0], how, vars.Scripts().Running}, nil
	}
}

// conversionForm returns the form function for explain, which shows a short form as $convert.
func conversionForm(how converter) expr.FormFunc {
	return func(s expr.SerialScope, def *expr.Definition, arg bsonx.Value) expr.Serial {
		input := s.Operand(expr.Sole(arg))
		if input.Constant {
			if v := s.Folded(def.Name, bsonx.NewArray(input.Value()), true); v.Constant {
				return v
			}
		}
		args := bsonx.NewDoc("input", input.Value(), "to", bsonx.NewDoc("$const", how.to.String()))
		switch how.to {
		case bsonx.TypeString:
			args = bsonx.NewDoc("input", input.Value(), "to", bsonx.NewDoc("$const", "string"), "format",
				bsonx.NewDoc("$const", "auto"))
		case bsonx.TypeBinary:
			to := bsonx.NewDoc("$const", bsonx.NewDoc("type", "binData", "subtype", int32(how.subtype)))
			args = bsonx.NewDoc("input", input.Value(), "to", to, "format", bsonx.NewDoc("$const", "uuid"))
		default:
		}
		return expr.Use("$convert", bsonx.Document(args))
	}
}

// convertTo is a short form of $convert, such as $toInt.
type convertTo struct {
	input   expr.Expr
	how     converter
	running *interrupt.Running // signals interrupts of the operation; nil never does
}

func (c *convertTo) Children() []expr.Expr { return []expr.Expr{c.input} }

func (c *convertTo) Eval(ctx *expr.Context) (bsonx.Value, error) {
	v, err := c.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if expr.Nullish(v) {
		return bsonx.Null, nil
	}
	return c.how.convert(v, ctx.Converting(c.running))
}
