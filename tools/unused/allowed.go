package main

// allowed lists the findings that stay, as PKG.NAME or PKG.TYPE.METHOD without internal/, with the
// reason.
var allowed = map[string]string{}
