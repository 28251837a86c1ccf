package ledger

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Amount is a number of the smallest units of a currency, for example cents. Balances and transfers
// lie between NoFloor and NoCeiling, so the sum of two amounts cannot overflow.
type Amount int64

// NoFloor and NoCeiling are the widest limits that an account can have.
const (
	NoFloor   Amount = -1 << 61
	NoCeiling Amount = 1 << 61
)

// MaxDecimals is the largest number of decimals that amounts may have in documents.
const MaxDecimals = 18

// Parse reads a decimal number as an amount: Parse("55.2", 2) is 5520. It fails if the text has
// more than the given number of decimals.
func Parse(text string, decimals int) (Amount, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "/eEpPxX_") {
		return 0, fmt.Errorf("%w: %q is not a decimal number", ErrAmount, text)
	}
	r.Mul(r, new(big.Rat).SetInt(power(decimals)))
	if !r.IsInt() {
		return 0, fmt.Errorf("%w: %s has more than %d decimals", ErrAmount, text, decimals)
	}
	return fromBig(r.Num())
}

// Format writes an amount as a decimal number with the given number of decimals.
func (a Amount) Format(decimals int) string {
	return new(big.Rat).SetFrac(big.NewInt(int64(a)), power(decimals)).FloatString(decimals)
}

func power(decimals int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
}

func fromBig(n *big.Int) (Amount, error) {
	if !n.IsInt64() {
		return 0, fmt.Errorf("%w: %v is out of range", ErrAmount, n)
	}
	return Amount(n.Int64()), nil
}

// registry returns the codecs for amounts: int64 without decimals, decimal128 with decimals.
func registry(decimals int) *bson.Registry {
	r := bson.NewRegistry()
	if decimals == 0 {
		return r
	}
	amounts := reflect.TypeFor[Amount]()
	r.RegisterTypeEncoder(amounts,
		bson.ValueEncoderFunc(func(_ bson.EncodeContext, w bson.ValueWriter, v reflect.Value) error {
			d, ok := bson.ParseDecimal128FromBigInt(big.NewInt(v.Int()), -decimals)
			if !ok {
				return fmt.Errorf("%w: %d", ErrAmount, v.Int())
			}
			return w.WriteDecimal128(d)
		}))
	r.RegisterTypeDecoder(amounts,
		bson.ValueDecoderFunc(func(_ bson.DecodeContext, rd bson.ValueReader, v reflect.Value) error {
			d, err := rd.ReadDecimal128()
			if err != nil {
				return fmt.Errorf("ledger: read an amount: %w", err)
			}
			a, err := fromDecimal(d, decimals)
			v.SetInt(int64(a))
			return err
		}))
	return r
}

// fromDecimal converts without rounding. It fails if d has more decimals, or is out of range.
func fromDecimal(d bson.Decimal128, decimals int) (Amount, error) {
	n, exp, err := d.BigInt()
	if err != nil {
		return 0, fmt.Errorf("%w: %v", ErrAmount, d)
	}
	exp += decimals
	if exp > 2*MaxDecimals {
		return 0, fmt.Errorf("%w: %v is out of range", ErrAmount, d)
	}
	if exp >= 0 {
		return fromBig(n.Mul(n, power(exp)))
	}
	n, rest := n.QuoRem(n, power(-exp), new(big.Int))
	if rest.Sign() != 0 {
		return 0, fmt.Errorf("%w: %v has more than %d decimals", ErrAmount, d, decimals)
	}
	return fromBig(n)
}
