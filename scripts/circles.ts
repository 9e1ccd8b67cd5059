/** Circles of imports: files of which none can be loaded, or read, without the others. */
import type { Finding } from './files.ts'
import { type Import, resolveImport } from './imports.ts'

/** A circle of type imports may have this many files: two halves of one thing, and what they share. */
const TYPE_CIRCLE_FILES_MAX = 3

/** All circles that are refused among `files` (path -> its imports): one finding each, at its first file. */
export function checkCircles(files: ReadonlyMap<string, readonly Import[]>): Finding[] {
  const findings: Finding[] = []
  for (const circle of circlesOf(graphOf(files, true))) {
    if (circle.length <= TYPE_CIRCLE_FILES_MAX) continue
    findings.push(finding(circle, `circle of ${circle.length} files, types included: move what they share below them`))
  }
  for (const circle of circlesOf(graphOf(files, false)))
    findings.push(finding(circle, `circle of ${circle.length} files that load each other: pass one as an argument`))
  return findings
}

function finding(circle: readonly string[], message: string): Finding {
  return { file: circle[0]!, line: 0, message: `${message} (${circle.join(' ')})` }
}

type Graph = ReadonlyMap<string, readonly string[]>

function graphOf(files: ReadonlyMap<string, readonly Import[]>, types: boolean): Graph {
  const graph = new Map<string, readonly string[]>()
  for (const [file, imports] of files) {
    const targets = new Set<string>()
    for (const { specifier, byUrl, typeOnly } of imports) {
      // The file of a worker is started, not imported.
      const target = byUrl || (typeOnly && !types) ? null : resolveImport(file, specifier)
      if (target !== null && files.has(target)) targets.add(target)
    }
    graph.set(file, [...targets])
  }
  return graph
}

/** The strongly connected components of more than one file (Tarjan), each sorted. */
function circlesOf(graph: Graph): string[][] {
  const circles: string[][] = []
  const orderOf = new Map<string, number>()
  const open: string[] = []
  /** Visits all that `file` reaches; returns the lowest order of an open file among them. */
  const visit = (file: string): number => {
    const order = orderOf.size
    orderOf.set(file, order)
    const start = open.push(file) - 1
    let lowest = order
    for (const target of graph.get(file)!) {
      const known = orderOf.get(target)
      if (known === undefined) lowest = Math.min(lowest, visit(target))
      else if (open.includes(target)) lowest = Math.min(lowest, known)
    }
    if (lowest === order) {
      const circle = open.splice(start)
      if (circle.length > 1) circles.push(circle.sort())
    }
    return lowest
  }
  for (const file of graph.keys()) if (!orderOf.has(file)) visit(file)
  return circles.sort((a, b) => (a[0]! < b[0]! ? -1 : 1))
}
