# SPDX-License-Identifier: Apache-2.0
"""Tables of the tuning database.

`xtc.driver.tuned` reads the view `tuned`: only correct results, with their keys.
"""

from __future__ import annotations

VERSION = 2
APPLICATION = 0x78746374  # "xtct": identifies this database

UPGRADES = {1: "ALTER TABLE runs ADD COLUMN bandwidth REAL"}
"""The statement that upgrades a database from each format to the next one."""

SCHEMA = """
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  graph TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  target TEXT NOT NULL,
  options TEXT NOT NULL,
  machine TEXT NOT NULL,
  versions TEXT NOT NULL,
  strategy TEXT NOT NULL,
  space TEXT NOT NULL,
  sampler TEXT NOT NULL,
  seed INTEGER NOT NULL,
  budget REAL,
  flops INTEGER NOT NULL,
  nbytes INTEGER NOT NULL,
  dtype TEXT NOT NULL,
  peak REAL,
  bandwidth REAL,
  started TEXT NOT NULL,
  seconds REAL NOT NULL DEFAULT 0,
  finished INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_graph ON runs (graph, target, options, machine);
CREATE TABLE results (
  run INTEGER NOT NULL REFERENCES runs (number),
  number INTEGER NOT NULL,
  schedule TEXT NOT NULL,
  parameters TEXT NOT NULL,
  status TEXT NOT NULL,
  message TEXT NOT NULL,
  seconds REAL,
  samples TEXT NOT NULL,
  compile_seconds REAL NOT NULL,
  at REAL NOT NULL,
  worker TEXT NOT NULL,
  kind TEXT NOT NULL,
  PRIMARY KEY (run, number),
  CHECK ((status = 'ok') = (seconds IS NOT NULL))
) WITHOUT ROWID;
CREATE VIEW tuned AS
  SELECT runs.graph, runs.target, runs.options, runs.machine,
         results.schedule, results.seconds, results.run, results.number
  FROM results JOIN runs ON runs.number = results.run
  WHERE results.status = 'ok';
"""
