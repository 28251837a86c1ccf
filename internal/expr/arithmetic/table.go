package arithmetic

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	inf := math.Inf(1)
	return []expr.Definition{
		expr.Lazily(expr.OpAssociative("$add", "arithmetic", expr.AssocLeft, add), 1),
		expr.Swapped(expr.Make2("$subtract", "arithmetic", subtract)),
		expr.Lazily(expr.OpAssociative("$multiply", "arithmetic", expr.AssocLeft, multiply), 1),
		expr.Swapped(expr.Make2("$divide", "arithmetic", divide)),
		expr.Swapped(expr.Make2("$mod", "arithmetic", mod)),
		function("$abs", numeric.AbsIn), function("$ceil", numeric.CeilIn), function("$floor", numeric.FloorIn),
		function("$sqrt", expr.Plain1(numeric.Sqrt)), function("$exp", expr.Plain1(numeric.Exp)),
		function("$ln", expr.Plain1(numeric.Ln)), function("$log10", expr.Plain1(numeric.Log10)),
		expr.Op2("$log", "arithmetic", logarithm),
		expr.Op2("$pow", "arithmetic", power),
		atPlace("$round", numeric.RoundIn), atPlace("$trunc", numeric.TruncIn),
		bitwise("$bitAnd", numeric.And, -1), bitwise("$bitOr", numeric.Or, 0), bitwise("$bitXor", numeric.Xor, 0),
		expr.Op1("$bitNot", "arithmetic", bitNot),
		bounded("$acos", math.Acos, numeric.Acos, -1, 1), bounded("$asin", math.Asin, numeric.Asin, -1, 1),
		bounded("$acosh", math.Acosh, numeric.Acosh, 1, inf), bounded("$atanh", math.Atanh, numeric.Atanh, -1, 1),
		bounded("$atan", math.Atan, numeric.Atan, -inf, inf), bounded("$asinh", math.Asinh, numeric.Asinh, -inf, inf),
		bounded("$sinh", math.Sinh, numeric.Sinh, -inf, inf), bounded("$cosh", math.Cosh, numeric.Cosh, -inf, inf),
		bounded("$tanh", math.Tanh, numeric.Tanh, -inf, inf),
		finite("$sin", math.Sin, numeric.Sin), finite("$cos", math.Cos, numeric.Cos), finite("$tan", math.Tan, numeric.Tan),
		scaled("$degreesToRadians", math.Pi/180, "0.01745329251994329576923690768488613"),
		scaled("$radiansToDegrees", 180/math.Pi, "57.29577951308232087679815481410517"),
		expr.Lazily(expr.OpN("$atan2", "trigonometry", 2, 2, atan2), 1, bsonx.Missing, one),
	}
}
