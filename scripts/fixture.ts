/** Small trees on disk for the tests of the checks. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Finding } from './files.ts'

/** Writes the files (path -> text) to a new folder, which goes when the test ends. Returns its path. */
export function fixtureTree(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'weir-tree-'))
  t.after(() => rmSync(root, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

/** 'file:line message', for comparing. */
export function asLines(findings: readonly Finding[]): string[] {
  return findings.map(({ file, line, message }) => `${file}:${line} ${message}`)
}
