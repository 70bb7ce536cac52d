// Package chart draws line charts as SVG, for self-contained HTML pages.
package chart
