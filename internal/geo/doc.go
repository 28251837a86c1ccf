// Package geo parses geometries and compares them, on a sphere and on a plane, as MongoDB does.
//
// Concepts:
//
//   - A Geometry is what a document holds: GeoJSON, or a legacy pair of coordinates. Whatever its
//     type, it is a set of points, lines and polygons.
//   - A Region is what a query asks about: a $geometry, $box, $polygon, $center or $centerSphere.
//   - A CRS says what coordinates mean. Those of GeoJSON are degrees on a sphere, those of legacy
//     pairs are on a plane; a pair that is a longitude and a latitude may be taken for a point of
//     the sphere, and a point for a pair.
//   - Cells divide the sphere (s2) or the plane of a 2d index (Grid) again and again in four.
//     Indexes hold the cells that cover a geometry; a region's covering gives the bounds of a scan,
//     a Space the order of a search by distance.
//
// Invariants:
//
//  1. Whatever bytes a client sends, parsing returns an error or a geometry that every function can
//     work with: s2 is given valid lines and polygons only.
//  2. A covering contains every geometry that a region contains or intersects, so that bounds lose
//     nothing. What is outside is for the caller's filter to find.
//  3. Distances are in radians times EarthRadius on the sphere and in the units of the coordinates
//     on a plane.
//  4. Lines are compared with lines and polygons by orientation, not by s2: s2 is exact where three
//     points lie on one great circle, and MongoDB lets rounding decide.
//
// The package does not know filters, indexes or error codes: parsing fails with a plain reason.
package geo
