// Package laboratory asks a configuration what it does, before it does it.
//
// [Open] reads a file, the files that it names, and looks up its names, as serve does. [Laboratory.Explain] says what
// would become of a connection of a client, by the code that decides on connections: see package proxy. Nothing is
// checked: each server is as the file has it, and up by its check, unless [States] say otherwise.
//
// [ReadCases] reads a file of cases, each a client and what is expected of its connection; [Laboratory.Try] tries one.
//
// [ReadScenario] reads what happens to clients and servers, and what is expected of it; [Laboratory.Build] and [Play]
// play it: see package simulation. [Laboratory.WhatIf] lets servers, zones and networks fail, one after the other, and
// [Laboratory.Compare] replaces one configuration by another under load.
package laboratory
