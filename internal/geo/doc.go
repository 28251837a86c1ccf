// Package geo parses geometries and compares them, on a sphere and on a plane, as MongoDB does.
//
// Concepts:
//
//   - A Geometry is a location in a document: GeoJSON, or a legacy pair of coordinates. Whatever
//     its type, it is a set of points, lines and polygons.
//   - A Region is the area of a query: a $geometry, $box, $polygon, $center or $centerSphere.
//   - A CRS says what coordinates mean. GeoJSON has degrees on a sphere, and legacy pairs are on a
//     plane. A pair of a longitude and a latitude can also be used as a point of the sphere, and a
//     GeoJSON point as a pair.
//   - Cells divide the sphere (s2) or the plane of a 2d index (Grid) into four, again and again.
//     Indexes store the cells that cover a geometry. The covering of a region gives the bounds of a
//     scan. A Space gives the order of a search by distance.
//
// Invariants:
//
//  1. For any bytes that a client sends, parsing returns an error or a geometry that is safe for
//     every function: s2 gets only valid lines and polygons.
//  2. A covering contains every geometry that a region contains or intersects, so that bounds lose
//     nothing. The caller's filter removes the geometries outside of the region.
//  3. Distances are in radians times EarthRadius on the sphere, and in the units of the
//     coordinates on a plane.
//  4. Lines are compared with lines and polygons by orientation, not by s2. If three points lie on
//     one great circle, s2 is exact, but MongoDB lets rounding decide.
//
// The package does not know filters, indexes or error codes: parsing returns a reason as text.
package geo
