/** Keeps notes for as long as its session lasts, and asks before it throws them away. */
import type { Parts, Tool } from './server.ts'

const NOTES_MAX = 100
const NOTE_CHARS_MAX = 10_000

export function notebook(version: string): Parts {
  const notes = new Map<number, string>()
  let numbers = 0
  let changed: () => void = () => {}

  const add: Tool = {
    name: 'add_note',
    title: 'Write a note',
    description: 'Keeps a text until the session ends. Answers with its number.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run({ text }) {
      if (typeof text !== 'string' || text === '') throw new Error('text is what to write')
      if (text.length > NOTE_CHARS_MAX) throw new Error(`a note has at most ${NOTE_CHARS_MAX} characters`)
      if (notes.size >= NOTES_MAX) throw new Error(`the notebook is full: it has ${NOTES_MAX} pages`)
      notes.set(++numbers, text)
      changed()
      return `Note ${numbers}`
    }
  }

  const allNotes = () => [...notes].map(([number, text]) => `${number}: ${text}`).join('\n') || 'There are no notes'

  const list: Tool = {
    name: 'list_notes',
    title: 'Read all notes',
    description: 'All notes, one line each.',
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
    run: () => allNotes()
  }

  return {
    name: 'weir-demo-notebook',
    version,
    instructions: 'Notes live as long as the session.',
    tools: [add, list, clearing(notes, () => changed())],
    prompts: [
      {
        name: 'summarise',
        description: 'Asks for a summary of all notes.',
        arguments: [{ name: 'tone', description: 'How it should sound', required: false }],
        text: ({ tone }) =>
          `Summarise these notes${typeof tone === 'string' && tone !== '' ? `, ${tone}` : ''}:\n\n${allNotes()}`
      }
    ],
    resources: () => [
      { uri: 'note://all', name: 'All notes', mimeType: 'text/plain', text: allNotes },
      ...[...notes].map(([number, text]) => ({
        uri: `note://${number}`,
        name: `Note ${number}`,
        mimeType: 'text/plain',
        text: () => text
      }))
    ],
    onChange(tell) {
      changed = tell
    }
  }
}

function clearing(notes: Map<number, string>, changed: () => void): Tool {
  return {
    name: 'clear_notes',
    title: 'Throw all notes away',
    description: 'Throws all notes away, when the user agrees.',
    inputSchema: { type: 'object' },
    annotations: { destructiveHint: true },
    async run(_args, { elicit }) {
      if (notes.size === 0) return 'There is nothing to throw away'
      const confirm = { type: 'boolean', title: 'Throw them away', default: false }
      const schema = { type: 'object', properties: { confirm }, required: ['confirm'] }
      const answer = await elicit(`Throw away ${notes.size === 1 ? 'the only note' : `${notes.size} notes`}?`, schema)
      if (answer?.confirm !== true) return 'Nothing was thrown away: the user has not agreed'
      notes.clear()
      changed()
      return 'All notes are gone'
    }
  }
}
