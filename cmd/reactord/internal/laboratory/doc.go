// Package laboratory asks a configuration what it does, before it does it.
//
// [Open] reads a file, the files that it names, and looks up its names, as serve does. [Laboratory.Explain] says what
// would become of a connection of a client, by the code that decides on connections: see package proxy. Nothing is
// checked: each server is as the file has it, and up by its check, unless [States] say otherwise.
//
// [ReadCases] reads a file of cases, each a client and what is expected of its connection; [Laboratory.Try] tries one.
package laboratory
