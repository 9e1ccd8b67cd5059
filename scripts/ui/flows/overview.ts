import { equal, match, ok } from 'node:assert/strict'
import type { Flow } from './flow.ts'

export const overviewFlows: readonly Flow[] = [
  {
    page: 'overview',
    does: 'shows backends and workers, each with its state',
    run: async (page) => {
      equal(await page.getByRole('cell', { name: /^(?:healthy|unreachable)$/ }).count(), 3)
      equal(await page.getByRole('row').filter({ hasText: 'serving' }).count(), 2)
      await page.getByRole('cell', { name: 'old-shop' }).waitFor()
    }
  },
  {
    page: 'overview',
    does: 'counts requests while it is open, and stands still when it is paused',
    run: async (page, stage) => {
      const rate = page.locator('.figure', { hasText: /^Requests/ }).locator('strong')
      for (let rounds = 0; rounds < 5; rounds++) {
        const answer = page.waitForResponse('**/api/v1/series?*')
        await stage.traffic(4)
        await answer
      }
      await page.getByRole('cell', { name: 'FORBIDDEN' }).waitFor()
      match((await rate.textContent()) ?? '', /^[1-9][\d.]*\/s$/)
      equal(await page.locator('canvas').count(), 4)
      await page.getByRole('img', { name: /^Requests, from .*all: \d/ }).waitFor()
      await page.getByLabel('Time').selectOption('24h')
      await page.waitForURL('**/ui/overview?range=24h')
      await page.getByLabel('Time').selectOption('5m')
      await page.getByRole('button', { name: 'Live' }).click()
      await page.getByRole('button', { name: 'Paused' }).waitFor()
      // What was on its way may still come.
      await page.waitForLoadState('networkidle')
      let requests = 0
      page.on('request', (request) => {
        if (request.url().includes('/api/')) requests++
      })
      await stage.traffic(8)
      equal(requests, 0)
    }
  },
  {
    page: 'overview',
    does: 'works by keys, without a mouse',
    run: async (page) => {
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keys' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.keyboard.press('p')
      await page.getByRole('button', { name: 'Paused' }).waitFor()
      await page.keyboard.press('p')
      await page.goto(page.url().replace('overview', 'nothing'))
      await page.getByText('There is no page').waitFor()
      await page.keyboard.press('g')
      await page.keyboard.press('o')
      await page.waitForURL('**/ui/overview')
      await page.goBack()
      match(page.url(), /nothing$/)
      await page.keyboard.press('Tab')
      equal(await page.locator(':focus').textContent(), 'Skip to the page')
      await page.keyboard.press('Enter')
      equal(await page.locator(':focus').getAttribute('id'), 'main')
    }
  },
  {
    page: 'overview',
    does: 'keeps the theme that was chosen',
    run: async (page) => {
      await page.getByLabel('Theme').selectOption('dark')
      await page.reload()
      equal(await page.locator('html').getAttribute('data-theme'), 'dark')
      equal(await page.getByLabel('Theme').inputValue(), 'dark')
      await page.getByLabel('Theme').selectOption('system')
      ok((await page.locator('html').getAttribute('data-theme')) === null)
    }
  }
]
