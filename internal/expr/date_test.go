package expr_test

import (
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestDateConstantsAreCompiled checks that an invalid constant argument of a date operator is an
// error before the first document.
func TestDateConstantsAreCompiled(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]mongoerr.Code{
		`{"$year": {"date": "$d", "timezone": "Mars/X"}}`:                    40485,
		`{"$dateTrunc": {"date": "$d", "unit": "eon"}}`:                      mongoerr.FailedToParse,
		`{"$dateTrunc": {"date": "$d", "unit": "day", "binSize": 0}}`:        5439018,
		`{"$dateAdd": {"startDate": "$d", "unit": 5, "amount": 1}}`:          5439013,
		`{"$dateFromParts": {"year": "$d", "timezone": "+1"}}`:               40485,
		`{"$dateDiff": {"startDate": "$d", "endDate": "$d", "unit": "eon"}}`: mongoerr.FailedToParse,
	} {
		failures := &expr.Failures{}
		_, err := expr.Parse(bsonxtest.Parse(t, `{"v":`+text+`}`).Lookup("v"),
			expressions.Scope().WithFailures(failures))
		if err != nil || mongoerr.CodeOf(failures.Err()) != code {
			t.Errorf("%s: %v, %v", text, err, failures.Err())
		}
	}
}

// TestDateZonePerDocument evaluates an expression with a different time zone for each document in
// the same Context.
func TestDateZonePerDocument(t *testing.T) {
	t.Parallel()
	e, err := expr.Parse(bsonxtest.Parse(t, `{"v": {"$hour": {"date": "$d", "timezone": "$z"}}}`).
		Lookup("v"), expressions.Scope())
	if err != nil {
		t.Fatal(err)
	}
	ctx := &expr.Context{}
	date := bsonx.Date(time.Date(2024, 7, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	for range 2 {
		for zone, hour := range map[string]int32{"UTC": 12, "Europe/Berlin": 14, "America/New_York": 8, "+05:30": 17} {
			ctx.Root = bsonx.Document(bsonx.NewDoc("d", date, "z", zone))
			if v, err := e.Eval(ctx); err != nil || v.Int32() != hour {
				t.Errorf("%s: %v %v", zone, v, err)
			}
		}
	}
}

// FuzzDateFromString states that every text and every format is either parsed or rejected with an
// error code, without a panic.
func FuzzDateFromString(f *testing.F) {
	for _, seed := range []string{
		"2017-02-08T12:10:40.787Z", "Wed, 08 Feb 2017 12:10:40 GMT",
		"10/Feb/2017:12:10:40 +0100", "2017-W06-3", "@-1.5",
		"2017-02-08 3 days ago", "last day of Feb 2017", "Feb. 8th, 2017 10 p.m. (EST)",
		"+999999999-01-01 +999999999 years",
	} {
		f.Add(seed, "%Y-%m-%dT%H:%M:%S.%L%z")
	}
	f.Fuzz(func(t *testing.T, text, format string) {
		for _, args := range []bsonx.Doc{
			bsonx.NewDoc("dateString", text), bsonx.NewDoc("dateString", text, "format", format),
			bsonx.NewDoc("dateString", text, "timezone", "Europe/Berlin"),
		} {
			e, err := expr.ParseOperator("$dateFromString", bsonx.Document(args), expressions.Scope())
			if err == nil {
				_, err = e.Eval(&expr.Context{})
			}
			if err != nil && mongoerr.CodeOf(err) == mongoerr.InternalError {
				t.Errorf("%q %q: %v", text, format, err)
			}
		}
	})
}

// BenchmarkDate evaluates one date expression for a document.
func BenchmarkDate(b *testing.B) {
	doc := bsonx.NewDoc("d", bsonx.Date(1709210096789), "z", "Europe/Berlin", "s",
		"2024-02-29T12:34:56.789Z", "t", "Feb 29, 2024 12:34")
	for _, bench := range []struct{ name, text string }{
		{"year", `{"$year": "$d"}`},
		{"year/zone", `{"$year": {"date": "$d", "timezone": "Europe/Berlin"}}`},
		{"year/zone-of-document", `{"$year": {"date": "$d", "timezone": "$z"}}`},
		{"trunc/hour", `{"$dateTrunc": {"date": "$d", "unit": "hour"}}`},
		{"trunc/month", `{"$dateTrunc": {"date": "$d", "unit": "month"}}`},
		{"trunc/day/zone", `{"$dateTrunc": {"date": "$d", "unit": "day", "timezone": "Europe/Berlin"}}`},
		{"add/month/zone", `{"$dateAdd": {"startDate": "$d", "unit": "month", "amount": 1, "timezone": "Europe/Berlin"}}`},
		{"toString", `{"$dateToString": {"date": "$d"}}`},
		{"toString/zone", `{"$dateToString": {"date": "$d", "format": "%Y-%m-%d %H:%M %z", "timezone": "Europe/Berlin"}}`},
		{"fromString/iso", `{"$dateFromString": {"dateString": "$s"}}`},
		{"fromString/format", `{"$dateFromString": {"dateString": "$s", "format": "%Y-%m-%dT%H:%M:%S.%L%z"}}`},
		{"fromString/free", `{"$dateFromString": {"dateString": "$t"}}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			e, err := expr.Parse(bsonxtest.Parse(b, `{"v":`+bench.text+`}`).Lookup("v"), expressions.Scope())
			if err != nil {
				b.Fatal(err)
			}
			ctx := &expr.Context{Root: bsonx.Document(doc)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Eval(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
