// The programs that processes of a recording execute. A process that the recorder is not in may live shorter
// than the time between two looks from outside; so the process that executes a program notes the program
// before, in the control block.
//
// A text is a zero byte, `+` or `-`, and the path of the program, or its name if the system is to search for
// it. `-`: the environment does not lead the recorder into the program. Each text stands there once; beyond
// some thousands of programs there is no room.
#pragma once

namespace heaplab::recorder {

// To be called when the recorder is loaded: looks up what note_program compares environments with.
void prepare_for_programs();

// Notes nothing of a path at which there is nothing to execute. Needs no lock, and leaves no trace in the
// state of the thread: children of fork and vfork call it. Precondition: the environment ends with a null.
void note_program(const char* path, const char* const* environment);

}  // namespace heaplab::recorder
