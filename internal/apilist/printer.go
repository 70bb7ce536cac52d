package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// A printer makes the lines of a package.
type printer struct {
	module string
	pkg    *types.Package
	all    []string
}

func newPrinter(module string, pkg *types.Package) *printer {
	return &printer{module: module, pkg: pkg}
}

// lines returns what the package exports.
func (p *printer) lines() []string {
	scope := p.pkg.Scope()
	for _, name := range scope.Names() {
		object := scope.Lookup(name)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			p.add("const %s %s = %s", name, p.typeOf(object.Type()), object.Val().ExactString())
		case *types.Var:
			p.add("var %s %s", name, p.typeOf(object.Type()))
		case *types.Func:
			signature := object.Signature()
			p.add("func %s%s%s", name, p.typeParams(signature.TypeParams()), p.signature(signature))
		case *types.TypeName:
			p.typeName(object)
		}
	}
	return p.all
}

func (p *printer) add(format string, args ...any) {
	path := strings.TrimPrefix(strings.TrimPrefix(p.pkg.Path(), p.module), "/")
	p.all = append(p.all, "pkg "+path+", "+fmt.Sprintf(format, args...))
}

func (p *printer) typeName(object *types.TypeName) {
	name := object.Name()
	if object.IsAlias() {
		p.add("type %s = %s", name, p.typeOf(types.Unalias(object.Type())))
		return
	}
	named := object.Type().(*types.Named)
	head := "type " + name + p.typeParams(named.TypeParams())
	switch under := named.Underlying().(type) {
	case *types.Struct:
		p.add("%s struct", head)
		p.fields(head, under)
	case *types.Interface:
		p.add("%s %s", head, p.interfaceOf(under))
		return // its methods are in the line
	default:
		p.add("%s %s", head, p.typeOf(under))
	}
	p.methods(named)
}

// fields lists the exported fields of a struct, with those that it has by embedding an unexported struct.
func (p *printer) fields(head string, s *types.Struct) {
	for field := range s.Fields() {
		switch {
		case field.Exported() && field.Embedded():
			p.add("%s struct, embeds %s", head, p.typeOf(field.Type()))
		case field.Exported():
			p.add("%s struct, %s %s", head, field.Name(), p.typeOf(field.Type()))
		case field.Embedded():
			if inner, ok := field.Type().Underlying().(*types.Struct); ok {
				p.fields(head, inner)
			}
		}
	}
}

// methods lists the exported methods of a type and of pointers to it, with those of embedded fields.
func (p *printer) methods(named *types.Named) {
	values := types.NewMethodSet(named)
	for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		method := selection.Obj()
		if !method.Exported() {
			continue
		}
		receiver := "*" + named.Obj().Name()
		if values.Lookup(method.Pkg(), method.Name()) != nil {
			receiver = named.Obj().Name()
		}
		p.add("method (%s) %s%s", receiver, method.Name(), p.signature(selection.Type().(*types.Signature)))
	}
}

// interfaceOf prints an interface with all methods. Unexported methods are not listed: only that there are some matters
// to those who would implement it.
func (p *printer) interfaceOf(i *types.Interface) string {
	var parts []string
	for method := range i.Methods() {
		if method.Exported() {
			parts = append(parts, method.Name()+p.signature(method.Signature()))
		} else if !slices.Contains(parts, "unexported methods") {
			parts = append(parts, "unexported methods")
		}
	}
	for embedded := range i.EmbeddedTypes() {
		if _, ok := embedded.Underlying().(*types.Interface); !ok || embedded.Underlying() == embedded {
			parts = append(parts, p.typeOf(embedded))
		}
	}
	slices.Sort(parts)
	return "interface { " + strings.Join(parts, "; ") + " }"
}

func (p *printer) typeParams(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var parts []string
	for param := range list.TypeParams() {
		parts = append(parts, param.Obj().Name()+" "+p.typeOf(param.Constraint()))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// signature prints a signature without the names of its parameters and results.
func (p *printer) signature(s *types.Signature) string {
	var params []string
	for i := range s.Params().Len() {
		param := p.typeOf(s.Params().At(i).Type())
		if s.Variadic() && i == s.Params().Len()-1 {
			param = "..." + strings.TrimPrefix(param, "[]")
		}
		params = append(params, param)
	}
	var results []string
	for result := range s.Results().Variables() {
		results = append(results, p.typeOf(result.Type()))
	}
	out := "(" + strings.Join(params, ", ") + ")"
	switch len(results) {
	case 0:
		return out
	case 1:
		return out + " " + results[0]
	}
	return out + " (" + strings.Join(results, ", ") + ")"
}

// typeOf prints a type as the package itself would write it, with functions without names of parameters.
func (p *printer) typeOf(t types.Type) string {
	switch t := t.(type) {
	case *types.Pointer:
		return "*" + p.typeOf(t.Elem())
	case *types.Slice:
		return "[]" + p.typeOf(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), p.typeOf(t.Elem()))
	case *types.Map:
		return "map[" + p.typeOf(t.Key()) + "]" + p.typeOf(t.Elem())
	case *types.Chan:
		return [...]string{"chan ", "chan<- ", "<-chan "}[t.Dir()] + p.typeOf(t.Elem())
	case *types.Signature:
		return "func" + p.signature(t)
	case *types.Named:
		return p.name(t.Obj()) + p.typeArgs(t.TypeArgs())
	case *types.Alias:
		return p.name(t.Obj()) + p.typeArgs(t.TypeArgs())
	case *types.Interface:
		if !t.IsImplicit() && t.NumMethods() > 0 && t.IsMethodSet() {
			return p.interfaceOf(t)
		}
	}
	return types.TypeString(t, p.qualifier)
}

func (p *printer) typeArgs(list *types.TypeList) string {
	if list.Len() == 0 {
		return ""
	}
	var parts []string
	for arg := range list.Types() {
		parts = append(parts, p.typeOf(arg))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (p *printer) name(object *types.TypeName) string {
	if object.Pkg() == nil {
		return object.Name() // error, any, comparable
	}
	if q := p.qualifier(object.Pkg()); q != "" {
		return q + "." + object.Name()
	}
	return object.Name()
}

// qualifier names a package of the module by its path within it, and another one by its whole path.
func (p *printer) qualifier(pkg *types.Package) string {
	if pkg == p.pkg {
		return ""
	}
	return strings.TrimPrefix(pkg.Path(), p.module+"/")
}
